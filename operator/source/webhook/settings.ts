import type { Source, SourceWebhook } from "../../../crds/generated/types.ts";

/** A Source's settings of its webhook. Without `spec.webhook`, they are what the CRD makes of `webhook: {}`. */
export function webhookOf({ spec }: Source): SourceWebhook {
	return (
		spec.webhook ?? { authorization: { type: "None" }, maxBodyBytes: 1_048_576 }
	);
}
