/** Returns a row of `spaces`: a public space without participants. */
export function spaceRow(spaceId: string, creatorPk: number) {
  return {
    space_id: spaceId,
    creator_pk: creatorPk,
    title: 'Tea',
    description: '',
    visibility: 'public' as const,
    posting: 'participants' as const,
    invitation_code: null,
    participant_count: 0,
    created_at: '2026-01-01T00:00:00.000Z',
  };
}
