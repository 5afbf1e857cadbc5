SELECT email, message
FROM feedback_latest
WHERE email IS NOT NULL
ORDER BY timestamp DESC
LIMIT 10
