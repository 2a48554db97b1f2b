// Sets the colours that the person chose before the first paint; without a choice, the system's.
(() => {
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("holdfast.theme"); } catch { return null; } };
  const apply = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  };
  apply(kept());
  window.holdfastTheme = {
    now: () => root.dataset.theme || "system",
    /** As the system, light, dark, and round again. */
    next() {
      const after = { system: "light", light: "dark", dark: "" }[this.now()];
      try { after ? localStorage.setItem("holdfast.theme", after) : localStorage.removeItem("holdfast.theme"); } catch { /* a private window */ }
      apply(after);
      return this.now();
    },
  };
})();
