select timestamp, name, email, message
from form
order by timestamp desc
limit 10;
-- The latest messages.
