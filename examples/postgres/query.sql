select name, email, message
from contact
order by timestamp desc
limit 10;
-- The latest messages.
