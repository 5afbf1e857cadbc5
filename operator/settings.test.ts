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
