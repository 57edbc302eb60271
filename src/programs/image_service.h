#pragma once
// The routes on this machine's images, which exist only where the node agent runs in the server's
// own process: /api/v1/images. Everything else goes on to the router. Administrators only.
//
//   GET    /api/v1/images             {"images":[{"name","digest"}]}
//   POST   /api/v1/images {"name"}    fetches it; 201 {"name","digest"}
//   DELETE /api/v1/images?name=       forgets it; 204

#include "async/task.h"
#include "http/service.h"
#include "identity/authenticator.h"
#include "node/image_store.h"

namespace agenttier::programs {

class ImageService final : public http::Service {
 public:
  // All must outlive the service.
  ImageService(http::Service& next, identity::Authenticator& authenticator,
               node::ImageStore& images)
      : next_(next), authenticator_(authenticator), images_(images) {}

  async::Task<http::Response> handle(http::Request request) override;

 private:
  async::Task<http::Response> answer(http::Request request, http::Target target);
  async::Task<http::Response> pull(http::Request request);

  http::Service& next_;
  identity::Authenticator& authenticator_;
  node::ImageStore& images_;
};

}  // namespace agenttier::programs
