import { Status } from '../../ui/status.tsx'
import { propertyWord, type Trace, valueText } from './words.ts'

/** Conditions of one rule, with the values of the device. */
export const TraceTable = ({ trace: { ruleId, conditions } }: { trace: Trace }) => (
  <div className="stack tight">
    <h3>
      Rule <code>{ruleId}</code>
    </h3>
    <div className="tw">
      <table className="t trace" aria-label={`Conditions of rule ${ruleId}`}>
        <thead>
          <tr>
            <th scope="col">Condition</th>
            <th scope="col" className="p2">
              Asked for
            </th>
            <th scope="col">Found</th>
            <th scope="col">
              <span className="vh">Holds</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {conditions.map(({ property, expected, actual, passed }) => (
            <tr key={property} className={passed ? undefined : 'miss'}>
              <td>
                {propertyWord(property)}
                <small className="m soft mono">{valueText(expected)}</small>
              </td>
              <td className="p2 mono soft">{valueText(expected)}</td>
              <td className="mono">{valueText(actual)}</td>
              <td className="n">{passed ? <Status kind="ok">holds</Status> : <Status kind="bad">fails</Status>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </div>
)
