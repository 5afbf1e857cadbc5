SELECT date, currency, count(*) AS payments, round(sum(amount) / 100.0, 2) AS total
FROM payments
WHERE type = 'payment_intent.succeeded'
GROUP BY date, currency
ORDER BY date, currency;
