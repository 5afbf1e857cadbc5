/** https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#labelselector-v1-meta */
export interface LabelSelector {
	matchLabels?: Record<string, string>;
	matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** An empty selector selects everything. */
export function selects(
	{ matchLabels = {}, matchExpressions = [] }: LabelSelector,
	labels: Record<string, string> = {},
): boolean {
	return (
		Object.entries(matchLabels).every(
			([key, value]) => labels[key] === value,
		) &&
		matchExpressions.every(({ key, operator, values = [] }) => {
			const value = labels[key];
			switch (operator) {
				case "In":
					return value !== undefined && values.includes(value);
				case "NotIn":
					return value === undefined || !values.includes(value);
				case "Exists":
					return value !== undefined;
				case "DoesNotExist":
					return value === undefined;
				default:
					throw new Error(`unknown operator ${operator}`);
			}
		})
	);
}
