import { operatorRights, rights } from "./operator-rights.ts";

const kindsOf = "destinations operations pipelines runs sources trackingplans";

/** All that each shipped role permits. A line more here is a line to argue for. */
export const permitted: Record<string, string[]> = {
	"tidemill-viewer": [
		...rights("tidemill.dev", kindsOf, "get list watch"),
		...rights("tidemill.dev", "sources/events", "get"),
	],
	"tidemill-editor": [
		...rights(
			"tidemill.dev",
			kindsOf,
			"create delete get list patch update watch",
		),
		...rights("tidemill.dev", "sources/events sources/bodies", "get"),
		...rights("", "secrets", "create"),
	],
	"tidemill-runner": [
		...rights("tidemill.dev", "runs", "create get list patch watch"),
		...rights("tidemill.dev", "pipelines", "get list watch"),
	],
	"tidemill-eraser": [
		...rights("tidemill.dev", "operations", "create get list patch watch"),
		...rights("tidemill.dev", "sources pipelines runs", "get list watch"),
		...rights("tidemill.dev", "sources/bodies", "erase"),
	],
	"tidemill-log-reader": [
		...rights("", "pods", "get list"),
		...rights("", "pods/log", "get"),
	],
	"tidemill-admin": [
		...rights("tidemill.dev", "tokens", "create"),
		...rights("", "serviceaccounts", "create delete get"),
		...rights("", "serviceaccounts/token", "create"),
		...rights(
			"rbac.authorization.k8s.io",
			"rolebindings",
			"create delete get list",
		),
		"rbac.authorization.k8s.io/clusterroles: bind by name",
	],
	"tidemill-operator": operatorRights.everywhere,
	"tidemill-operator-in-namespace": operatorRights.inNamespace,
	"tidemill-operator-lease": operatorRights.lease,
};
