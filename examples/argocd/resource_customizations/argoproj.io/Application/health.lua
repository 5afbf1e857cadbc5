-- An Application of Applications waits for each wave. Argo CD itself has no health of Applications since version 1.8
-- (argo-cd.readthedocs.io/en/stable/operator-manual/health, "Argocd App").
local hs = { status = "Progressing", message = "" }
local health = (obj.status or {}).health or {}
if health.status ~= nil then
  hs.status = health.status
  hs.message = health.message or ""
end
return hs
