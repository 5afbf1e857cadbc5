import { useEffect, useId, useState } from "preact/hooks";
import { type LiveKind, live, remember } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { Dialog } from "../components/dialog.tsx";
import { toast } from "../components/toasts.ts";
import type { Destination } from "../generated/types.ts";
import { palette as words } from "../messages/palette.ts";
import { navigate } from "../router/navigation.ts";
import { startRun } from "../runs/run-now.tsx";
import { itemsFor, itemsShown, type PaletteItem } from "./items.ts";

type Page = { path: string; title: string };

/** Finds any name, id or action: a combobox (WAI-ARIA APG) in a dialog. It changes nothing before a second Enter. */
export function Palette({
	pages,
	onClose,
}: {
	pages: readonly Page[];
	onClose(): void;
}) {
	const [text, setText] = useState("");
	const [at, setAt] = useState(0);
	const [asked, setAsked] = useState<PaletteItem["asks"]>();
	const id = useId();
	const found = itemsFor(text, viewOf(pages));
	const shown = found.slice(0, itemsShown);
	const chosen = Math.min(at, shown.length - 1);
	useEffect(() => {
		document.getElementById(`${id}-${chosen}`)?.scrollIntoView({
			block: "nearest",
		});
	}, [chosen]);
	const take = async (item: PaletteItem | undefined) => {
		if (!item) return;
		if (item.asks) return setAsked(item.asks);
		onClose();
		await navigate(item.to!, item.query);
	};
	const act = async ({ does, name }: NonNullable<PaletteItem["asks"]>) => {
		onClose();
		try {
			if (does === "run") return await startRun(name);
			const seen = await api.post<Destination>(
				`destinations/${encodeURIComponent(name)}/check`,
			);
			remember("destinations", seen);
			toast(words.checks(name));
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			toast(error.message, "bad");
		}
	};
	const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
	const press = (event: KeyboardEvent) => {
		const step = move[event.key];
		if (event.isComposing || (!step && event.key !== "Enter")) return;
		event.preventDefault();
		if (step) {
			setAsked(undefined);
			setAt((chosen + step + shown.length) % Math.max(1, shown.length));
		} else if (!event.repeat) void (asked ? act(asked) : take(shown[chosen]));
	};
	return (
		<Dialog title={words.title} onClose={onClose}>
			<div class="palette">
				<input
					type="text"
					role="combobox"
					aria-label={words.label}
					aria-expanded={shown.length > 0}
					aria-controls={`${id}-list`}
					aria-activedescendant={shown.length ? `${id}-${chosen}` : undefined}
					aria-describedby={`${id}-help`}
					autocomplete="off"
					spellcheck={false}
					value={text}
					onInput={({ currentTarget }) => {
						setText(currentTarget.value);
						setAt(0);
						setAsked(undefined);
					}}
					onKeyDown={press}
				/>
				<div id={`${id}-list`} role="listbox" aria-label={words.title}>
					{shown.map((item, place) => (
						// biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the combobox's.
						// biome-ignore lint/a11y/useFocusableInteractive: so is the focus (WAI-ARIA APG).
						<div
							key={`${item.kind} ${item.label}`}
							id={`${id}-${place}`}
							role="option"
							// The focus stays in the field, as the keys do.
							onMouseDown={(event) => event.preventDefault()}
							aria-selected={place === chosen}
							onClick={() => {
								setAt(place);
								void take(item);
							}}
						>
							{item.label} <span class="quiet">{item.kind}</span>
						</div>
					))}
				</div>
				<p role="status">
					{asked
						? asked.says
						: found.length === 0
							? words.nothing
							: found.length > shown.length &&
								words.more(found.length - shown.length)}
				</p>
				{asked && (
					<div class="actions">
						<button
							type="button"
							class="button-primary"
							onClick={() => void act(asked)}
						>
							{words.doIt}
						</button>
					</div>
				)}
				<p class="quiet" id={`${id}-help`}>
					{words.help}
				</p>
			</div>
		</Dialog>
	);
}

function viewOf(pages: readonly Page[]) {
	const edited = ["sources", "destinations", "pipelines"] as const;
	const of = (kind: LiveKind) => [...live(kind).keys()].sort();
	const names = {
		sources: of("sources"),
		destinations: of("destinations"),
		pipelines: of("pipelines"),
		trackingplans: of("trackingplans"),
		runs: of("runs").reverse(),
	};
	const managed = new Set(
		edited.flatMap((kind) =>
			[...live(kind).values()]
				.filter(({ managedBy }) => managedBy)
				.map(({ name }) => `${kind}/${name}`),
		),
	);
	return { names, managed, pages, can };
}
