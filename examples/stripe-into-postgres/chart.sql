SELECT date, currency, count(*) AS payments, sum(amount) / 100.0 AS total
FROM payments
WHERE type = 'payment_intent.succeeded'
GROUP BY date, currency
ORDER BY date, currency;
