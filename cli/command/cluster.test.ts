import { afterEach, expect, test, vi } from "vitest";
import { chooseCluster } from "./cluster.ts";

afterEach(() => void vi.unstubAllEnvs());

test("before make up, the command line says make up", async () => {
	vi.stubEnv("KUBECONFIG", "");
	vi.stubEnv("HOME", "/nowhere");
	await expect(chooseCluster({})).rejects.toThrow(
		/^No cluster is chosen. For a Tidemill on this machine run `make up`, and then `source .tidemill\/env`/,
	);
	vi.stubEnv("KUBECONFIG", "/nowhere/config");
	await expect(chooseCluster({})).rejects.toThrow(
		"The kubeconfig /nowhere/config can't be read",
	);
});
