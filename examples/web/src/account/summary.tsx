import type { Profile } from 'space-service';
import { Avatar } from '../ui/avatar.tsx';
import { formatDate } from '../words.ts';

/** Who the signed-in user is, and what the user has done. */
export function Summary({ profile }: { profile: Profile }) {
  // Only the statistics that this page knows, because later versions of the service can add others.
  const { stats } = profile;
  const statistics = {
    'Spaces created': stats.spaces_created,
    'Active spaces': stats.spaces_participated,
    'Words written': stats.total_words_contributed,
    Appreciations: stats.total_appreciations_received,
  };
  return (
    <section className="panel summary" aria-label="Summary">
      <Avatar user={profile} size={80} />
      <div>
        <p className="profile-name">
          <bdi>{profile.username}</bdi>
          {profile.is_verified && <span className="badge">Verified</span>}
        </p>
        <p className="hint">{profile.email}</p>
        <p className="hint">Member since {formatDate(profile.created_at)}</p>
      </div>
      <dl className="statistics">
        {Object.entries(statistics).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value.toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
