import { expect, test } from "vitest";
import { corefile } from "./coredns.ts";

test("a clone may stand in a folder with a space in its name", () => {
	expect(corefile("/my work/dns.yaml")).toContain(
		'\tkubeconfig "/my work/dns.yaml"\n',
	);
});
