local hs = { status = "Progressing", message = "Waiting for Tidemill's operator" }
if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "Being deleted"
end
local status = obj.status or {}
-- What an earlier spec led to says nothing about this one.
if status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end
local failed = nil
for _, condition in ipairs(status.conditions) do
  if condition.type == "Ready" then
    hs.message = condition.message
    if condition.status == "False" then
      hs.status = "Degraded"
    elseif condition.status == "True" and obj.metadata.deletionTimestamp == nil then
      hs.status = "Healthy"
    end
  -- A Pipeline's alone.
  elseif condition.type == "RunSucceeded" and condition.status == "False" then
    failed = condition.message
  end
end
if hs.status == "Healthy" and failed ~= nil then
  hs.message = hs.message .. " The last Run did not succeed: " .. failed
end
return hs
