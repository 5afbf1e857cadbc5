select date, currency, count(distinct order_id) as orders, sum(total_price) as total
from shopify
where header_x_shopify_topic = 'orders/create'
group by all
order by all;
-- The orders of each day.
