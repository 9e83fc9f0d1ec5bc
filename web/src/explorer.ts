import { mount } from "svelte";
import "./page.css";
import Explorer from "./Explorer.svelte";
import { use } from "./state/api";
import { given, inside } from "./state/inside";

// The trace lies in the page, in blocks that no browser runs.
const found = given(document);
use(inside(found));
mount(Explorer, { target: document.getElementById("page")!, props: { opening: found.opening } });
