import { expect, test } from "vitest";
import { createLog } from "../packages/service/log.ts";
import { Settings } from "../packages/service/settings.ts";
import { readOperatorSettings } from "./settings.ts";

const required = {
	TIDEMILL_RECEIVE_URL: "https://in.example",
	TIDEMILL_IMAGE: "tidemill:1",
};

function namespacesOf(WATCH_NAMESPACES: string | undefined) {
	return readOperatorSettings(
		new Settings({ ...required, WATCH_NAMESPACES }),
		createLog("test"),
	).watchNamespaces;
}

test("the operator serves the namespaces that are named", () => {
	expect(namespacesOf("shop, lab,")).toEqual(["shop", "lab"]);
});

test("the operator serves all namespaces only if that is chosen", () => {
	expect(namespacesOf("*")).toBeUndefined();
	for (const unclear of [undefined, "", " , ", "shop,*"])
		expect(() => namespacesOf(unclear)).toThrow("WATCH_NAMESPACES");
});

test("the cluster's own networks are closed, unless the hosts of Destinations are named", () => {
	const networksOf = (settings: Record<string, string>) =>
		readOperatorSettings(
			new Settings({ ...required, WATCH_NAMESPACES: "shop", ...settings }),
			createLog("test"),
		).clusterNetworks;
	const CLUSTER_NETWORKS = "10.42.0.0/16, fd42::/48";
	expect(networksOf({})).toEqual([]);
	expect(networksOf({ CLUSTER_NETWORKS })).toEqual([
		...["10.42.0.0/16", "fd42::/48"],
	]);
	expect(
		networksOf({ CLUSTER_NETWORKS, DESTINATION_HOSTS: "db.example.com" }),
	).toEqual([]);
	for (const odd of ["10.42.0.0", "10.42.0.0/33", "cluster", "fd42::/200"])
		expect(() => networksOf({ CLUSTER_NETWORKS: odd })).toThrow(
			`CLUSTER_NETWORKS is "${odd}". It must be networks`,
		);
});
