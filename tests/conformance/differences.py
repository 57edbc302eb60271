"""Where our store answers otherwise than a kube-apiserver, and why."""

DIFFERENCES = {}
DIFFERENT_PARTS = {}
