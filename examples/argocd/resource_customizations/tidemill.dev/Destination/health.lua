-- Healthy when a check from inside the namespace could write.
local hs = { status = "Progressing", message = "Waiting for Tidemill's operator" }
if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "Being deleted"
end
local status = obj.status or {}
-- What an earlier spec led to says nothing about this one.
if status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end
for _, condition in ipairs(status.conditions) do
  if condition.type == "Ready" then
    hs.message = condition.message
    if condition.status == "False" then
      hs.status = "Degraded"
    elseif condition.status == "True" and obj.metadata.deletionTimestamp == nil then
      hs.status = "Healthy"
    end
  end
end
return hs
