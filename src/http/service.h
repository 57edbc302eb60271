#pragma once
// A Service answers requests; a Client sends them. A Service can be used as a Client without a
// socket (in_process.h), which is how the control plane talks to the embedded store and how tests
// talk to everything.
//
// A handler that awaits is cancelled when its client goes away. handle() never fails: an error is a
// Response.

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"

namespace agenttier::http {

class Service {
 public:
  virtual ~Service() = default;
  virtual async::Task<Response> handle(Request request) = 0;
};

class Client {
 public:
  virtual ~Client() = default;
  // A response of any status is a value; an error means that none came (kUnavailable, kDeadline,
  // kCancelled). The response's body may be a stream that holds the connection until its end.
  virtual async::Task<base::Result<Response>> send(Request request) = 0;
};

// {"error": reason or code name, "message": text, "causes"?: [{field,message}]}, Retry-After if
// set.
Response error_response(const base::Error& error);
Response json_response(int status, std::string json_text);
Response text_response(int status, std::string text);

}  // namespace agenttier::http
