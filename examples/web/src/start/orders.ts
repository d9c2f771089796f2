/** The orders in which all public spaces are listed. */
export const ORDERS = {
  popular: {
    name: 'Popular',
    hint: 'Large ones first; among those of a similar size, the newest.',
  },
  newest: { name: 'New', hint: 'Newest first.' },
};

export type Order = keyof typeof ORDERS;
