import { forms as words } from "../messages/forms.ts";
import { conditionTone } from "./condition-tone.ts";
import { StatusBadge } from "./status-badge.tsx";
import { Time } from "./time.tsx";

interface Condition {
	type: string;
	status: string;
	reason: string;
	message: string;
	lastTransitionTime: string;
}

/** What the operator says of a resource, in its own words. */
export function Conditions({
	conditions = [],
}: {
	conditions?: readonly Condition[] | undefined;
}) {
	if (conditions.length === 0) return null;
	return (
		<section class="group" aria-labelledby="conditions">
			<h2 id="conditions">{words.conditions}</h2>
			<ul class="conditions">
				{conditions.map(
					({ type, status, reason, message, lastTransitionTime }) => (
						<li key={type}>
							<StatusBadge
								status={type}
								label={`${type}: ${status}`}
								tone={conditionTone({ type, status })}
							/>{" "}
							<strong>{reason}</strong>{" "}
							<span class="quiet">
								<Time at={lastTransitionTime} />
							</span>
							<p>{message}</p>
						</li>
					),
				)}
			</ul>
		</section>
	);
}
