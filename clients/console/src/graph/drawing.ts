/** The drawing of a graph, by Cytoscape. */

import cytoscape from "cytoscape";
import type { Edge, Elements } from "./elements.js";

export interface Drawing {
  /** Shows these nodes and edges; what is there already keeps its place. */
  show(elements: Elements, label: (id: string) => string): void;
  remove(): void;
}

// Where an element has this id, Cytoscape adds no style sheet to the page: the security policy allows no inline ones.
const STYLESHEET = "__________cytoscape_stylesheet";

const MOST_ZOOM = 1;

export function draw(container: HTMLElement, onOpen: (id: string) => void): Drawing {
  if (!document.getElementById(STYLESHEET)) {
    const marker = document.createElement("meta");
    marker.id = STYLESHEET;
    document.head.append(marker);
  }
  const colour = (name: string) => {
    container.style.color = `var(${name})`;
    const found = getComputedStyle(container).color;
    container.style.color = "";
    return found;
  };
  const cy = cytoscape({
    container,
    maxZoom: 3,
    minZoom: 0.05,
    style: [
      {
        selector: "node",
        style: {
          label: "data(label)",
          "background-color": colour("--accent"),
          color: colour("--text"),
          "font-size": 20,
          width: 24,
          height: 24,
          "text-valign": "bottom",
          "text-margin-y": 3,
          "text-max-width": "200px",
          "text-wrap": "ellipsis",
          "min-zoomed-font-size": 5,
        },
      },
      {
        selector: "edge",
        style: {
          label: "data(label)",
          width: 2,
          opacity: 0.6,
          "line-color": colour("--quiet"),
          "target-arrow-color": colour("--quiet"),
          "target-arrow-shape": "triangle",
          "arrow-scale": 0.8,
          "curve-style": "bezier",
          "font-size": 14,
          color: colour("--quiet"),
          "min-zoomed-font-size": 9,
        },
      },
    ],
  });
  cy.on("tap", "node", (event) => onOpen(event.target.id()));
  return {
    show({ nodes, edges }, label) {
      const isFirst = cy.nodes().empty();
      const present = new Set(cy.elements().map((each) => each.id()));
      const newNodes = nodes.filter((id) => !present.has(id)).map((id) => ({ group: "nodes" as const, data: { id } }));
      const newEdges = edges.filter((edge) => !present.has(idOf(edge))).map((edge) => ({ group: "edges" as const, data: { id: idOf(edge), source: edge.from, target: edge.to, label: edge.label } }));
      cy.batch(() => {
        cy.add([...newNodes, ...newEdges]);
        cy.nodes().forEach((node) => void node.data("label", label(node.id())));
      });
      if (newNodes.length === 0) return;
      // The more nodes, the fewer rounds: the page must not wait.
      const numIter = Math.max(40, Math.round(40_000 / nodes.length));
      cy.layout({ name: "cose", animate: false, randomize: isFirst, numIter, nodeDimensionsIncludeLabels: true, padding: 24 }).run();
      // Few nodes would fill the page.
      if (cy.zoom() > MOST_ZOOM) cy.zoom(MOST_ZOOM).center();
    },
    remove: () => cy.destroy(),
  };
}

function idOf({ from, to, label }: Edge): string {
  return `${from} ${label} ${to}`;
}
