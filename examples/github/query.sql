select repository, header_x_github_event as event, action, sender, count(*) as events
from github
group by all
order by all;
-- Who did what in which repository.
