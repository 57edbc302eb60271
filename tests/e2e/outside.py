"""The rest of the world, as a program in a network namespace of its own.

It accepts TCP connections, answers datagrams, and writes a line of JSON for each datagram that came:
from where it claimed to be, and what it said. Ends with its standard input.

  outside.py TCP_PORT UDP_PORT
"""

import json
import selectors
import socket
import sys


def main():
    waiting = selectors.DefaultSelector()
    accepting = socket.create_server(("0.0.0.0", int(sys.argv[1])))
    hearing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # Answers come from the address that was asked, as connected sockets expect.
    hearing.bind(("0.0.0.0", int(sys.argv[2])))
    for source in (accepting, hearing, sys.stdin):
        waiting.register(source, selectors.EVENT_READ)
    print(json.dumps({"ready": True}), flush=True)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is accepting:
                accepting.accept()[0].close()
                continue
            data, sender = hearing.recvfrom(2048)
            print(json.dumps({"from": sender[0], "said": data.decode(errors="replace")}), flush=True)
            hearing.sendto(data, sender)


if __name__ == "__main__":
    main()
