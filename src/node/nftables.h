#pragma once
// Nftables runs command scripts in nftables' own syntax, each as one transaction: all of a script
// takes effect at once, or nothing does. Not thread-safe; calls block for a millisecond or so.
//
// Example:
//   AT_OK(nftables.run("add table inet agenttier"));

#include <memory>
#include <string>

#include "base/result.h"

struct nft_ctx;

namespace agenttier::node {

class Nftables {
 public:
  static base::Result<Nftables> open();
  // The error's message is what nftables says of the script.
  base::Status run(const std::string& script);

 private:
  struct Free {
    void operator()(nft_ctx* context) const;
  };
  explicit Nftables(nft_ctx* context) : context_(context) {}
  std::unique_ptr<nft_ctx, Free> context_;
};

}  // namespace agenttier::node
