import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { toast } from "../components/toasts.ts";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import { namespace } from "../router/navigation.ts";

/**
 * Gives a Source another plan, and offers to take that back. Throws an {@link ApiProblem} if the API refuses it.
 * @param to null for none
 * @param from the plan that it has
 */
export async function setPlan(
	source: string,
	to: string | null,
	from: string | null,
): Promise<void> {
	const where = namespace.peek();
	const change = async (plan: string | null, undo?: () => void) => {
		await api.patch(
			`sources/${encodeURIComponent(source)}`,
			{ webhook: { trackingPlanRef: plan === null ? null : { name: plan } } },
			// Who undoes may be in another by then, which has a Source of that name, too.
			{ namespace: where },
		);
		const text =
			plan === null ? words.removed(source) : words.setDone(source, plan);
		toast(text, "good", undo);
	};
	const undo = async () => {
		try {
			await change(from);
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			toast(error.message, "bad");
		}
	};
	await change(to, () => void undo());
}
