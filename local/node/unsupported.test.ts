import { expect, test } from "vitest";
import { pod } from "../../test/support/fixtures/pod-fixture.ts";
import type { PodContainer, PodSpec } from "./pod.ts";
import { unsupported } from "./unsupported.ts";

const container = (other: Partial<PodContainer>): Partial<PodSpec> => ({
	containers: [
		{ name: "main", image: "ours", command: ["tidemill"], ...other },
	],
});

test("a Pod of our image and command is supported, with the volumes that our Jobs have", () => {
	expect(unsupported(pod(), "ours")).toBeUndefined();
	const volumes = [
		{ name: "input", secret: { secretName: "input" } },
		{ name: "scratch", emptyDir: {} },
		{ name: "files", hostPath: { path: "/files" } },
		{ name: "claim", persistentVolumeClaim: { claimName: "claim" } },
	];
	expect(unsupported(pod({}, { volumes }), "ours")).toBeUndefined();
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
		"arguments in the command",
		container({ command: ["tidemill", "load"] }),
		'it is ["tidemill","load"]',
	],
	["another single command", container({ command: ["sh"] }), 'it is ["sh"]'],
	[
		"the image's own command",
		container({ command: [] }),
		'its command must be ["tidemill"]',
	],
	[
		"variables of a whole Secret",
		container({ envFrom: [{ secretRef: { name: "login" } }] }),
		'container "main": local mode has no envFrom',
	],
	[
		"a variable from a Secret",
		container({
			env: [
				{ name: "PLAIN", value: "x" },
				{
					name: "PASSWORD",
					valueFrom: { secretKeyRef: { name: "login", key: "password" } },
				},
			],
		}),
		"local mode has no valueFrom; give variable PASSWORD a value",
	],
	[
		"a part of a volume",
		container({
			volumeMounts: [
				{ name: "v", mountPath: "/whole" },
				{ name: "v", mountPath: "/part", subPath: "part" },
			],
		}),
		"local mode has no subPath; mount the whole volume at /part",
	],
	[
		"a part of a volume by a variable",
		container({
			volumeMounts: [{ name: "v", mountPath: "/part", subPathExpr: "$(A)" }],
		}),
		"local mode has no subPath",
	],
	[
		"a volume of another type",
		{ volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] },
		'volume "v" is of type nfs',
	],
	[
		"a ConfigMap's volume",
		{ volumes: [{ name: "v", configMap: { name: "c" } }] },
		'volume "v" is of type configMap; local mode has secret, emptyDir, hostPath, persistentVolumeClaim',
	],
	[
		"a volume of its own fields",
		{ volumes: [{ name: "v", downwardAPI: { items: [] } }] },
		'volume "v" is of type downwardAPI',
	],
	[
		"its ServiceAccount's token",
		{ volumes: [{ name: "kube-api-access-x", projected: { sources: [] } }] },
		"set automountServiceAccountToken: false",
	],
])("a Pod with %s is refused with what to change", (_, spec, words) => {
	expect(unsupported(pod({}, spec), "ours")).toContain(words);
});
