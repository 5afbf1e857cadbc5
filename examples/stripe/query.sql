select date, currency, count(*) as payments, sum(amount) / 100 as total
from stripe
where type = 'payment_intent.succeeded'
group by all
order by all;
-- What was paid on each day.
