// Mouse, fingers and keys on the map.

// on: { hover(row, x, y), leave(), choose(row), lasso(polygon) }
export function watchPointer(map, on) {
  const canvas = map.canvas;
  const [lassoMode, outline] = ["lasso-mode", "lasso"].map((id) => document.getElementById(id));
  const fingers = new Map();
  let held = null;
  let hovered = -1;
  let waiting = 0;

  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const leave = () => {
    hovered = -1;
    clearTimeout(waiting);
    on.leave();
  };

  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = local(event);
    fingers.set(event.pointerId, [x, y]);
    const lasso = event.shiftKey || lassoMode.getAttribute("aria-pressed") === "true";
    held = fingers.size > 1 ? null : { x, y, moved: false, lasso: lasso ? [[x, y]] : null };
    canvas.setPointerCapture(event.pointerId);
    if (lasso) leave();
  });

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    if (fingers.size > 1 && fingers.has(event.pointerId)) return pinch(map, fingers, event.pointerId, [x, y]);
    if (!held) return hover(x, y);
    held.moved ||= Math.hypot(x - held.x, y - held.y) > 3;
    if (held.lasso) {
      held.lasso.push([x, y]);
      outline.setAttribute("points", held.lasso.map((point) => point.join(",")).join(" "));
    } else if (held.moved) {
      leave();
      map.pan(x - held.x, y - held.y);
      [held.x, held.y] = [x, y];
    }
  });

  const release = (event) => {
    const was = held;
    held = null;
    fingers.delete(event.pointerId);
    outline.setAttribute("points", "");
    if (!was || event.type === "pointercancel") return;
    if (was.lasso && was.lasso.length > 2) on.lasso(was.lasso.map(([x, y]) => map.toMap(x, y)));
    else if (!was.moved) on.choose(map.pick(...local(event), event.pointerType === "touch" ? 22 : 10));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    map.zoomAt(Math.exp(-event.deltaY * 0.0016), ...local(event));
  }, { passive: false });

  function hover(x, y) {
    const row = map.pick(x, y);
    if (row < 0) return leave();
    if (row === hovered) return;
    hovered = row;
    clearTimeout(waiting);
    waiting = setTimeout(() => on.hover(row, x, y), 25);
  }
}

// two fingers: what lies under them stays under them
function pinch(map, fingers, id, [x, y]) {
  const [ox, oy] = [...fingers].find(([other]) => other !== id)[1];
  const [px, py] = fingers.get(id);
  const before = Math.hypot(px - ox, py - oy);
  fingers.set(id, [x, y]);
  map.pan((x - px) / 2, (y - py) / 2);
  if (before > 10) map.zoomAt(Math.hypot(x - ox, y - oy) / before, (x + ox) / 2, (y + oy) / 2);
}

// keys: { key: action }, unless something is typed or a button is pressed
export function watchKeys(keys) {
  document.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    const elsewhere = event.target.tagName === "BUTTON" && event.key === "Enter";
    if (typing || elsewhere || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
