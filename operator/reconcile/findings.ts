import type { Finding } from "../../packages/kube/conditions.ts";
import type { Reason, Reasons } from "./reasons.ts";

/** What is found about one condition of a kind. */
export type FindingOf<
	Kind extends keyof Reasons,
	Type extends keyof Reasons[Kind] = "Ready" & keyof Reasons[Kind],
> = Finding<Reason<Kind, Type>>;

/** What is found about every condition of a kind. */
export type FindingsOf<Kind extends keyof Reasons> = {
	[Type in keyof Reasons[Kind]]:
		| FindingOf<Kind, Type>
		| "as before"
		| undefined;
};
