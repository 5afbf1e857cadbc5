select date, currency, count(distinct order_id) as orders, sum(total_price) as total
from shopify
where header_x_shopify_topic = 'orders/create'
group by 1, 2
order by 1, 2;
-- The orders of each day.
