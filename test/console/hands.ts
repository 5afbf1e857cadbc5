import type { Locator, Page } from "playwright-core";

/** The hands of a visitor: with a mouse, or on the keyboard alone. A label or a name is the whole one. */
export interface Hands {
	press(button: string | RegExp, within?: Locator): Promise<void>;
	follow(link: string | RegExp): Promise<void>;
	fill(label: string, text: string): Promise<void>;
	choose(label: string, option: string): Promise<void>;
	tick(label: string): Promise<void>;
	/** Replaces what an editor has. */
	write(label: string, text: string): Promise<void>;
}

export function withMouse(page: Page): Hands {
	const label = (text: string) => page.getByLabel(text, { exact: true });
	return {
		press: (name, within) => buttonOf(page, name, within).click(),
		follow: (name) => linkOf(page, name).click(),
		fill: (text, value) => label(text).fill(value),
		choose: async (text, option) => {
			await label(text).selectOption(option);
		},
		tick: (text) => label(text).check(),
		write: async (text, value) => {
			await label(text).click();
			await replaceAll(page, value);
		},
	};
}

/** Reaches everything by Tab, and works it by keys. */
export function withKeyboard(page: Page): Hands {
	const at = async (text: string) => {
		const control = page.getByLabel(text, { exact: true });
		await tabTo(page, control);
		return control;
	};
	return {
		press: async (name, within) => {
			await tabTo(page, buttonOf(page, name, within));
			await page.keyboard.press("Enter");
		},
		follow: async (name) => {
			await tabTo(page, linkOf(page, name));
			await page.keyboard.press("Enter");
		},
		fill: async (text, value) => {
			const field = await at(text);
			await page.keyboard.press("Control+A");
			await page.keyboard.type(value);
			const has = await field.inputValue();
			if (has !== value)
				throw new Error(`${text} has "${has}" after typing "${value}".`);
		},
		choose: async (text, option) => {
			const select = await at(text);
			await select.locator("option", { hasText: option }).first().waitFor({
				state: "attached",
			});
			// As a person does: the first letters choose an option.
			await page.keyboard.type(option);
			if ((await select.inputValue()) !== option)
				throw new Error(
					`${text} has ${await select.inputValue()} after typing ${option}.`,
				);
		},
		tick: async (text) => {
			const box = await at(text);
			if (!(await box.isChecked())) await page.keyboard.press("Space");
		},
		write: async (text, value) => {
			await at(text);
			await replaceAll(page, value);
		},
	};
}

function buttonOf(
	page: Page,
	name: string | RegExp,
	within: Locator | Page = page,
): Locator {
	return within.getByRole("button", {
		name,
		exact: typeof name === "string",
	});
}

function linkOf(page: Page, name: string | RegExp): Locator {
	return page
		.getByRole("link", { name, exact: typeof name === "string" })
		.first();
}

/** A page has fewer things that Tab reaches. */
const maxTabs = 400;

async function tabTo(page: Page, target: Locator): Promise<void> {
	await target.waitFor();
	for (let tabs = 0; tabs < maxTabs; tabs++) {
		const isThere = await target.evaluate((element) => {
			const root = element.getRootNode() as unknown as {
				activeElement: unknown;
			};
			return root.activeElement === element;
		});
		if (isThere) return;
		await page.keyboard.press("Tab");
	}
	throw new Error(`Tab doesn't reach ${target}.`);
}

async function replaceAll(page: Page, text: string): Promise<void> {
	await page.keyboard.press("Control+A");
	await page.keyboard.insertText(text);
}
