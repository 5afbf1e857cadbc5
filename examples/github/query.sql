select repository, header_x_github_event as event, action, sender, count(*) as events
from github
group by 1, 2, 3, 4
order by 1, 2, 3, 4;
-- Who did what in which repository.
