local hs = { status = "Progressing", message = "Waiting for Tidemill's operator" }
local status = obj.status or {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Failed" and condition.status == "True" then
    return { status = "Degraded", message = condition.message }
  end
  if condition.type == "Complete" then
    hs.message = condition.message
    if condition.status == "True" then
      hs.status = "Healthy"
    end
  end
end
return hs
