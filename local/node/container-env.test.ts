import { expect, test } from "vitest";
import { ConfigError } from "./config-error.ts";
import { containerEnv, expandVariables } from "./container-env.ts";
import { pod, sources } from "./pod-fixture.ts";

const known = sources({
	Secret: { login: { user: "ann", password: "s3cret" } },
	ConfigMap: { colours: { RED: "#f00", GREEN: "#0f0" } },
});

test.each([
	["$(A) and $(B)", "1 and $(B)"],
	["$$(A)", "$(A)"],
	["$$$(A)", "$1"],
	["$A $( $()", "$A $( $()"],
])("%j expands to %j, as kubelet does it", (text, expected) => {
	expect(expandVariables(text, { A: "1" })).toBe(expected);
});

test("a value uses what stands before it, and nothing that comes later", async () => {
	const env = [
		{ name: "FIRST", value: "$(SECOND)" },
		{ name: "SECOND", value: "$(RED)" },
		{ name: "THIRD", value: "$(SECOND)!" },
	];
	const envFrom = [{ configMapRef: { name: "colours" } }];
	expect(await containerEnv({ env, envFrom }, pod(), known)).toMatchObject({
		FIRST: "$(SECOND)",
		SECOND: "#f00",
		THIRD: "#f00!",
	});
});

test("values come from Secrets, ConfigMaps and fields of the Pod, under a prefix if there is one", async () => {
	const env = [
		{
			name: "PASSWORD",
			valueFrom: { secretKeyRef: { name: "login", key: "password" } },
		},
		{
			name: "NAME",
			valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } },
		},
	];
	const envFrom = [{ prefix: "C_", configMapRef: { name: "colours" } }];
	const labelled = pod({ labels: { app: "load" } });
	expect(await containerEnv({ env, envFrom }, labelled, known)).toEqual({
		C_RED: "#f00",
		C_GREEN: "#0f0",
		PASSWORD: "s3cret",
		NAME: "load",
	});
});

test("what is optional and missing leaves its variable out", async () => {
	const env = [
		{
			name: "A",
			valueFrom: { secretKeyRef: { name: "none", key: "k", optional: true } },
		},
		{
			name: "B",
			valueFrom: { secretKeyRef: { name: "login", key: "k", optional: true } },
		},
	];
	const envFrom = [{ secretRef: { name: "none", optional: true } }];
	expect(await containerEnv({ env, envFrom }, pod(), known)).toEqual({});
});

test("what is missing is named in kubelet's words", async () => {
	const of = (secretKeyRef: { name: string; key: string }) =>
		containerEnv(
			{ env: [{ name: "A", valueFrom: { secretKeyRef } }] },
			pod(),
			known,
		);
	await expect(of({ name: "none", key: "k" })).rejects.toThrow(
		new ConfigError('secret "none" not found'),
	);
	await expect(of({ name: "login", key: "k" })).rejects.toThrow(
		new ConfigError("couldn't find key k in Secret default/login"),
	);
});

test("a value that no process can be given is refused without being quoted", async () => {
	const env = [{ name: "A", value: "hidden\0" }];
	await expect(containerEnv({ env }, pod(), known)).rejects.toThrow(
		new ConfigError("variable A has a NUL character"),
	);
});
