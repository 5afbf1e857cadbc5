import { isReady, live } from "../api/changes.ts";
import { can } from "../api/session.ts";
import { StatusBadge } from "../components/status-badge.tsx";
import type { Pipeline } from "../generated/types.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import { href } from "../router/navigation.ts";

/**
 * The Pipelines of a Source or a Destination, and the way to one more.
 * @param begun what the form of a new one begins with
 */
export function PipelinesOf({
	title,
	none,
	isOne,
	begun,
}: {
	title: string;
	none: string;
	isOne(pipeline: Pipeline): boolean;
	begun: Record<string, string>;
}) {
	if (!can("pipelines", "list") || !isReady("pipelines")) return null;
	const found = [...live("pipelines").values()].filter(isOne);
	return (
		<section class="group" aria-labelledby="users">
			<div class="group-head">
				<h2 id="users">{title}</h2>
				{can("pipelines", "create") && (
					<a href={href("pipelines/new", begun)}>{words.newPipeline}</a>
				)}
			</div>
			{found.length === 0 ? (
				<p class="quiet">{none}</p>
			) : (
				<ul class="users">
					{found.map(({ name, status = "Pending" }) => (
						<li key={name}>
							<a href={href(`pipelines/${name}`)}>{name}</a>{" "}
							<StatusBadge status={status} />
						</li>
					))}
				</ul>
			)}
		</section>
	);
}
