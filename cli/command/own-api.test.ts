import { expect, test } from "vitest";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { isApiOf } from "./own-api.ts";

const use = (...resourceNames: string[]) => ({
	...{ apiGroups: ["tidemill.dev"], resources: ["apis"], verbs: ["use"] },
	resourceNames,
});
const everything = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };

function isStated(url: string, ...resourceRules: object[]): Promise<boolean> {
	const raw = async () => ({ status: { resourceRules, incomplete: false } });
	return isApiOf({ raw } as unknown as KubeClient, new URL(url));
}

test.each<[boolean, string, object[]]>([
	[true, "https://api.example.com/v1", [everything, use("api.example.com")]],
	[true, "https://API.example.com:8443/v1", [use("other", "api.example.com")]],
	[false, "https://api.example.com/v1", [everything]],
	[false, "https://api.example.com/v1", [use()]],
	[false, "https://api.example.com/v1", [use("*.example.com")]],
	[false, "https://api.example.com.evil.example/v1", [use("api.example.com")]],
	[
		false,
		"https://api.example.com/v1",
		[{ ...use("api.example.com"), verbs: ["get"] }],
	],
	[false, "http://api.example.com/v1", [use("api.example.com")]],
	[true, "http://127.0.0.1:8090/v1", [use("127.0.0.1:8090")]],
	[false, "http://127.0.0.1:8091/v1", [use("127.0.0.1:8090")]],
	[false, "http://localhost:8090/v1", [use("localhost")]],
])("it is %s that a cluster calls %s its own by %j", async (is, url, rules) => {
	expect(await isStated(url, ...rules)).toBe(is);
});
