-- Sends the requests of a file in turn, and ends with a line of JSON.
-- Each request stands behind its length in bytes and a line break.
local requests = {}
local turn = 0

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  while true do
    local bytes = file:read("*n")
    if not bytes then break end
    file:read(1)
    requests[#requests + 1] = file:read(bytes)
  end
  file:close()
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%f,"p99":%f,"failures":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
