select
    date,
    count(*) as orders,
    max(timestamp) as last_order
from {{ source(var('destination'), 'orders') }}
group by date
