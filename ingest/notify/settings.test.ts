import { expect, test } from "vitest";
import { createLog } from "../../packages/service/log.ts";
import { Settings } from "../../packages/service/settings.ts";
import { readNotifySettings } from "./main.ts";

const log = createLog("test");
const seal = import.meta.filename;

test("without settings, no network but the internet may be called", () => {
	const settings = new Settings({ TIDEMILL_SEAL_KEY: seal });
	const { allowedNetworks } = readNotifySettings(settings, log);
	expect(allowedNetworks.rules).toEqual([]);
});

test.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/8,", "all", "::1/129"])(
	"NOTIFY_ALLOWED_NETWORKS=%s is refused",
	(networks) => {
		const settings = new Settings({
			TIDEMILL_SEAL_KEY: seal,
			NOTIFY_ALLOWED_NETWORKS: networks,
		});
		expect(() => readNotifySettings(settings, log)).toThrow(
			`NOTIFY_ALLOWED_NETWORKS is "${networks}". It must be networks`,
		);
	},
);

test("the seal key is required", () => {
	expect(() => readNotifySettings(new Settings({}), log)).toThrow(
		"TIDEMILL_SEAL_KEY is not set",
	);
});
