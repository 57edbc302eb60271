#include "node/nftables.h"

#include <nftables/libnftables.h>

namespace agenttier::node {

void Nftables::Free::operator()(nft_ctx* context) const {
  nft_ctx_free(context);
}

base::Result<Nftables> Nftables::open() {
  nft_ctx* context = nft_ctx_new(NFT_CTX_DEFAULT);
  if (context == nullptr) return base::internal("open nftables: no context");
  Nftables made(context);
  nft_ctx_buffer_output(context);
  nft_ctx_buffer_error(context);
  return made;
}

base::Status Nftables::run(const std::string& script) {
  const int code = nft_run_cmd_from_buffer(context_.get(), script.c_str());
  const char* said = nft_ctx_get_error_buffer(context_.get());
  nft_ctx_get_output_buffer(context_.get());
  if (code == 0) return {};
  std::string text = said == nullptr ? "no reason given" : said;
  if (const auto end = text.find('\n'); end != std::string::npos) text.resize(end);
  return base::internal("nftables: " + text);
}

}  // namespace agenttier::node
