import type { Operation } from "../../crds/generated/types.ts";
import { type WorkAction, workTransitions } from "../jobs/transition.ts";

/** What is done about an Operation. */
export type OperationAction = WorkAction<Operation, "Operation">;

/** How an Operation's status changes. */
export const transition = workTransitions<Operation, "Operation">("Operation");
