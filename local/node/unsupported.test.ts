import { expect, test } from "vitest";
import { pod } from "./pod-fixture.ts";
import type { Container, PodSpec } from "./pod-spec.ts";
import { unsupported } from "./unsupported.ts";

const container = (other: Partial<Container>): Partial<PodSpec> => ({
	containers: [
		{ name: "main", image: "ours", command: ["tidemill"], ...other },
	],
});

test("a Pod of our image and command is supported", () => {
	expect(unsupported(pod(), "ours")).toBeUndefined();
});

test.each<[string, Partial<PodSpec>, string]>([
	[
		"another image",
		container({ image: "nginx" }),
		'runs only the image ours; container "main" has the image nginx',
	],
	[
		"init containers",
		{ initContainers: [{ name: "first" }] },
		'runs no init containers; remove "first"',
	],
	["a restart policy", { restartPolicy: "Always" }, "restartPolicy: Never"],
	[
		"another command",
		container({ command: ["sh", "-c"] }),
		'its command must be ["tidemill"], with everything else in args; it is ["sh","-c"]',
	],
	[
		"the image's own command",
		container({ command: [] }),
		'its command must be ["tidemill"]',
	],
	[
		"a resource field",
		container({
			env: [
				{
					name: "CPU",
					valueFrom: { resourceFieldRef: { resource: "limits.cpu" } },
				},
			],
		}),
		"variable CPU comes from a resource field",
	],
	[
		"a volume of another type",
		{ volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] },
		'volume "v" is of type nfs',
	],
	[
		"another projection",
		{
			volumes: [
				{
					name: "v",
					projected: { sources: [{ clusterTrustBundle: { path: "ca" } }] },
				},
			],
		},
		'volume "v" projects a clusterTrustBundle',
	],
])("a Pod with %s is refused in words that help", (_, spec, words) => {
	expect(unsupported(pod({}, spec), "ours")).toContain(words);
});
