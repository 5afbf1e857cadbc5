import { readFileSync } from "node:fs";
import { join } from "node:path";
import { targetLabels } from "./firing.ts";

/** A query of the chart's dashboard, with Grafana's variables filled in. */
export interface DashboardQuery {
	panel: string;
	expr: string;
}

interface Dashboard {
	templating: {
		list: {
			name: string;
			type: string;
			multi?: boolean;
			includeAll?: boolean;
		}[];
	};
	panels: {
		title: string;
		description?: string;
		targets?: { expr: string }[];
	}[];
}

export const dashboard = JSON.parse(
	readFileSync(
		join(import.meta.dirname, "../../../charts/tidemill/files/dashboard.json"),
		"utf8",
	),
) as Dashboard;

export const dashboardQueries: DashboardQuery[] = dashboard.panels.flatMap(
	({ title, targets = [] }) =>
		targets.map(({ expr }, index) => ({
			panel: `${title} ${"ABCD"[index]}`,
			expr: expr
				.replaceAll("$namespace", targetLabels.namespace)
				.replaceAll("$release", targetLabels.app_kubernetes_io_instance)
				.replaceAll("$__rate_interval", "5m"),
		})),
);
