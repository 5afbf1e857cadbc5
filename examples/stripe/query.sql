select date, currency, count(*) as payments, sum(amount) / 100 as total
from stripe
where type = 'payment_intent.succeeded'
group by 1, 2
order by 1, 2;
-- What was paid on each day.
