import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { connection, unwatched } from "../api/changes.ts";
import { can, session, signOut } from "../api/session.ts";
import { SelectField } from "../components/field.tsx";
import { Toasts } from "../components/toast.tsx";
import { toast } from "../components/toasts.ts";
import { palette } from "../messages/palette.ts";
import { shell as words } from "../messages/shell.ts";
import type { Palette as PaletteOf } from "../palette/palette.tsx";
import {
	address,
	href,
	keepState,
	keptState,
	mayLeave,
	namespace,
	navigate,
} from "../router/navigation.ts";
import { isOutdated } from "./upgrade.ts";

const links = [
	["home", words.home, "sources"],
	["sources", words.sources, "sources"],
	["destinations", words.destinations, "destinations"],
	["pipelines", words.pipelines, "pipelines"],
	["runs", words.runs, "runs"],
	["tracking-plans", words.trackingPlans, "trackingplans"],
	["tokens", words.tokens, "tokens"],
	["search", words.search, "sources/events"],
] as const;

function visibleLinks() {
	return links.filter(([, , right]) => can(right, "list") || can(right, "get"));
}

/** Where the console begins: at the first page that the visitor may see. */
export function firstPage(): string {
	return visibleLinks()[0]?.[0] ?? "sources";
}

const themes: readonly (readonly [Theme, string])[] = [
	["auto", words.themeAuto],
	["light", words.themeLight],
	["dark", words.themeDark],
];

/** What surrounds every page of a visitor who is signed in. */
export function Shell({ children }: { children: ComponentChildren }) {
	const user = session.value?.user ?? "";
	return (
		<div class="shell">
			<a class="skip" href="#content">
				{words.skipToContent}
			</a>
			<header class="top">
				<a class="brand" href={href(firstPage())}>
					<Waves />
					{words.product}
				</a>
				<div class="top-tools">
					<PaletteButton />
					<NamespaceSwitcher />
					<details
						class="visitor"
						onKeyDown={({ key, currentTarget: menu }) => {
							if (key !== "Escape" || !menu.open) return;
							menu.open = false;
							menu.querySelector("summary")?.focus();
						}}
					>
						<summary>
							<span class="visitor-name">{user}</span>
						</summary>
						<div class="menu">
							<p class="quiet">{words.signedInAs(user)}</p>
							<SelectField
								label={words.theme}
								value={theme.value}
								options={themes}
								onChange={setTheme}
							/>
							<button
								type="button"
								onClick={async () => {
									if (await mayLeave()) await signOut();
								}}
							>
								{words.signOut}
							</button>
						</div>
					</details>
				</div>
			</header>
			<Navigation />
			<div class="main-column">
				<Announcements />
				<main id="content" tabIndex={-1}>
					{children}
				</main>
			</div>
			<Toasts />
		</div>
	);
}

/** The button, and Control K or ⌘ K, open what finds everything. Its file comes when it is first wanted. */
function PaletteButton() {
	const [Palette, setPalette] = useState<typeof PaletteOf>();
	const [isOpen, setOpen] = useState(false);
	const open = async () => {
		try {
			const { Palette: loaded } = await import("../palette/palette.tsx");
			setPalette(() => loaded);
			setOpen(true);
		} catch {
			toast(words.stillMissing, "bad");
		}
	};
	useEffect(() => {
		const press = (event: KeyboardEvent) => {
			const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
			if (key !== "k" || !(ctrlKey || metaKey) || shiftKey || altKey) return;
			event.preventDefault();
			// Within a dialog its question comes first.
			if (!document.querySelector("dialog[open]")) void open();
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	return (
		<>
			<button type="button" class="button-small" onClick={() => void open()}>
				{palette.open} <kbd>{palette.keys}</kbd>
			</button>
			{isOpen && Palette && (
				<Palette
					pages={visibleLinks().map(([path, title]) => ({ path, title }))}
					onClose={() => setOpen(false)}
				/>
			)}
		</>
	);
}

function Navigation() {
	const [here] = address.value.path.split("/");
	const bar = useRef<HTMLElement>(null);
	// On a phone the links are one line, which scrolls.
	useEffect(() => {
		bar.current
			?.querySelector("[aria-current]")
			?.scrollIntoView({ block: "nearest", inline: "nearest" });
	}, [here]);
	return (
		<nav class="side" aria-label={words.navigation} ref={bar}>
			<ul>
				{visibleLinks().map(([path, title]) => (
					<li key={path}>
						<a
							href={href(path)}
							aria-current={here === path ? "page" : undefined}
						>
							{title}
						</a>
					</li>
				))}
			</ul>
		</nav>
	);
}

function NamespaceSwitcher() {
	const names = session.value?.namespaces ?? [];
	const here = namespace.value;
	const options = [...new Set([here, ...names])].sort();
	const change = (name: string) => {
		// What is open in one namespace is not in the other, but its list is.
		const [list] = address.value.path.split("/");
		void navigate(list || "sources", { namespace: name });
	};
	return (
		<SelectField
			label={words.namespace}
			value={here}
			options={options.map((name) => [name, name] as const)}
			onChange={change}
		/>
	);
}

/** What a visitor must know on every page. */
function Announcements() {
	const isLost = ["lost", "refused"].includes(connection.value);
	const shown = links
		.filter(
			([path, , kind]) =>
				path !== "home" && unwatched.value.some((one) => one === kind),
		)
		.map(([, title]) => title)
		.join(", ");
	return (
		<div role="status">
			{isLost && <p class="banner banner-warning">{words.connectionLost}</p>}
			{shown && <p class="banner">{words.notLive(shown.toLowerCase())}</p>}
			{isOutdated.value && (
				<p class="banner">
					{words.outdated}{" "}
					<button type="button" onClick={() => location.reload()}>
						{words.reload}
					</button>
				</p>
			)}
		</div>
	);
}

export function Waves() {
	return (
		<svg class="waves" viewBox="0 0 32 32" aria-hidden="true">
			<rect width="32" height="32" rx="8" />
			<path d="M5 12q3.700-4 7.300 0t7.300 0 7.400 0M5 17.500q3.700-4 7.300 0t7.300 0 7.400 0M5 23q3.700-4 7.300 0t7.300 0 7.400 0" />
		</svg>
	);
}

type Theme = "auto" | "light" | "dark";

/** A new tab begins as the system is; this one keeps the choice. */
const theme = signal<Theme>("auto");
setTheme((keptState().theme as Theme | undefined) ?? "auto");

function setTheme(next: Theme): void {
	theme.value = next;
	keepState({ theme: next });
	if (next === "auto") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = next;
}
